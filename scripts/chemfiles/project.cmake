# chemfiles knows twenty formats, octitrate writes one of them, XTC. Its 65 sources spend most of their time in the same headers: sixteen of
# them at a time are compiled as one (a unity build) and not optimised, which takes a seventh of the CPU time. What writes XTC is fully optimised.
# Needs CMake 3.19; an older one builds chemfiles as it is.
if(CMAKE_VERSION VERSION_LESS 3.19)
    return()
endif()
set(CMAKE_C_FLAGS_RELEASE "-O0 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O0 -DNDEBUG")
cmake_language(DEFER CALL set_target_properties chemfiles_objects PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
# These define names that others define too.
foreach(source files/GzFile files/XzFile formats/PDB selections/parser files/XDRFile formats/XTC)
    set_source_files_properties(
        "${CMAKE_CURRENT_SOURCE_DIR}/src/${source}.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
set_source_files_properties(
    "${CMAKE_CURRENT_SOURCE_DIR}/src/files/XDRFile.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/src/formats/XTC.cpp"
    PROPERTIES COMPILE_OPTIONS "-O3")
